/* Resources: notebooks with their cells and images, and files of workspaces, each by the operation
 * that REST offers for it. */
#pragma once

#include "mcp/request.h"

void resources_list(struct mcp_request *rq);
void resources_list_templates(struct mcp_request *rq);
void resources_read(struct mcp_request *rq);

enum { RESOURCES_SESSION_SIZE = 128, RESOURCES_URI_MAX = 4096 /* bytes */ };

/* A URI of ours. Its parts are decoded: what templates give has %20 for a space. */
struct resources_uri {
    char session[RESOURCES_SESSION_SIZE]; /* a name or an id */
    char *file;                           /* in the workspace; NULL if it is of the notebook */
    const char *rest;                     /* of the notebook's: "", or "/cell/…", not decoded */
    char text[RESOURCES_URI_MAX + 1];     /* where they lie */
};
/* False with why not: it is no such URI. */
bool resources_parse(const char *uri, struct resources_uri *ret, const char **ret_why);
