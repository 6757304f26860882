/* Pictures that cells show: their bytes become blobs, what stays in the cell is where to find them.
 */
#pragma once

#include "session/recording.h"

/* Sends a picture to the store and shows a reference in place of its bytes: then the serial in the
 * transcript, and exec_displayed (showing.h) is called once it is kept, never from within. A cell
 * that ends before is not called any more. 0 if the picture is to be shown as it is. */
uint64_t pictures_keep(struct exec *exec, json_t *output, enum recording_place place);
