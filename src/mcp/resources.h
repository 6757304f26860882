/* Resources: notebooks with their cells and images, and files of workspaces, each by the operation
 * that REST offers for it. */
#pragma once

#include "mcp/request.h"

void resources_list(struct mcp_request *rq);
void resources_list_templates(struct mcp_request *rq);
void resources_read(struct mcp_request *rq);

enum { RESOURCES_SESSION_SIZE = 128, RESOURCES_URI_MAX = 4096 /* bytes */ };
/* The session of a URI of ours, as it is named there; false: it is no such URI. */
bool resources_session(const char *uri, char session[RESOURCES_SESSION_SIZE]);
/* The path of a file, within the URI; NULL if it is another resource. */
const char *resources_file_path(const char *uri);
