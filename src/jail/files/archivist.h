/* The archivist: a process beside the warden that records workspaces and makes them again
 * (archive.h says how). It has the rights over the files of all jails' users, and so over blobs,
 * which are the daemon's own; it has no others. What it knows of a workspace from the last time it
 * keeps in memory, within a limit.
 *
 * Orders about one workspace are carried out one after the other, those about different ones side
 * by side, each by a thread: a gigabyte of one session must not keep the others waiting, and what
 * is known has to stay in one process. Threads that have nothing to do sleep. */
#pragma once

/* The archivist's whole life; `sock` carries struct archivist_order and struct archivist_word. */
_Noreturn void archivist_main(int sock, int workspaces, int store);
