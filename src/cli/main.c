#include "cli/verb.h"
#include "image/image.h"

#include <string.h>

int main(int argc, char **argv)
{
    /* The daemon runs itself for this; nobody types it. */
    if (argc > 2 && strcmp(argv[1], IMAGE_BOX_WORD) == 0)
        return image_box_main(argc - 2, argv + 2);
    return cli_main(argc, argv);
}
