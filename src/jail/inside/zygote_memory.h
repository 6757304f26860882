/* A zygote's memory before its first fork. */
#pragma once

/* CPython takes memory for its objects in arenas of a megabyte or less, which the kernel puts
 * between the libraries, wherever there is room. From here on they lie side by side, where huge
 * pages fit; from zygote_gather_memory on they are where the kernel puts them again. */
void zygote_place_arenas(void);

/* Before the first session, and before its like is practised. Between what libraries hold lies
 * memory that they gave back, a piece here and a piece there, and a session would be given that
 * first: each in a page, and in a huge page, that it has shared with everybody until then. All of
 * it is taken, for ever, so that what a session writes to lies side by side. */
void zygote_use_up_memory(void);

/* Puts the libraries' objects into huge pages, where the kernel can (Linux 6.1): a fork then copies
 * one entry for 2 MiB instead of 512, and a child that writes still copies 4 KiB at a time. Only
 * this once and only here: huge pages that the kernel made later in a session would be its own
 * copies. What does not work changes nothing but the time a fork takes.
 *
 * And makes of the five mappings that a library has two, because each takes a process half a
 * kilobyte of the kernel's memory and its fork time: constants may be executed then, and tables of
 * the linker written. Where there are hundreds, a copy of all that lie side by side becomes one,
 * in huge pages like the rest, which may be written and executed; /proc/self/maps does not name
 * them any more. The code of a session could ask for all of it itself. */
void zygote_gather_memory(void);
