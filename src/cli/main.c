/* The program's entry: a box if the daemon started itself as one, else the command line tool
 * (cli_main), of which `serve` is the daemon. */
#include "cli/verb.h"
#include "explore/boxes.h"
#include "image/image.h"
#include "search/search.h"

#include <string.h>

int main(int argc, char **argv)
{
    /* The daemon runs itself for these; nobody types them. */
    if (argc == 2 && strcmp(argv[1], EXPLORE_BOX_WORD) == 0)
        return explore_box_main();
    if (argc == 2 && strcmp(argv[1], SEARCH_BOX_WORD) == 0)
        return search_box_main();
    if (argc > 2 && strcmp(argv[1], IMAGE_BOX_WORD) == 0)
        return image_box_main(argc - 2, argv + 2);
    int status = explore_boxes_main(argc - 1, argv + 1);
    return status >= 0 ? status : cli_main(argc, argv);
}
