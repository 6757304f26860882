/* Replaces functions of libc as the shell imports them. In the shell's process; owns its slots of
 * the GOT. */
#include "drivers/bash/imports.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>

/* What the dynamic section of the program says. */
struct program {
    uintptr_t base;
    const ElfW(Sym) * symbols;
    const char *names;
    const ElfW(Rela) * calls;
    size_t n_calls;
};

static void read_entry(struct program *p, const ElfW(Dyn) * entry)
{
    switch (entry->d_tag) {
    case DT_SYMTAB:
        p->symbols = (const void *)entry->d_un.d_ptr;
        break;
    case DT_STRTAB:
        p->names = (const void *)entry->d_un.d_ptr;
        break;
    case DT_JMPREL:
        p->calls = (const void *)entry->d_un.d_ptr;
        break;
    case DT_PLTRELSZ:
        p->n_calls = entry->d_un.d_val / sizeof(*p->calls);
        break;
    default:
        break;
    }
}

/* The first object is the program itself. */
static int read_program(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct program *p = context;
    p->base = info->dlpi_addr;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
            continue;
        const ElfW(Dyn) *entry = (const void *)(p->base + info->dlpi_phdr[i].p_vaddr);
        for (; entry->d_tag != DT_NULL; entry++)
            read_entry(p, entry);
    }
    return 1;
}

static void **find_slot(const char *name)
{
    struct program p = {0};
    dl_iterate_phdr(read_program, &p);
    if (p.symbols == NULL || p.names == NULL || p.calls == NULL)
        return NULL;
    for (size_t i = 0; i < p.n_calls; i++) {
        const ElfW(Sym) *symbol = p.symbols + ELF64_R_SYM(p.calls[i].r_info);
        if (strcmp(p.names + symbol->st_name, name) == 0)
            return (void **)(p.base + p.calls[i].r_offset);
    }
    return NULL;
}

bool imports_has(const char *name)
{
    return find_slot(name) != NULL;
}

bool imports_replace(const char *name, void *function)
{
    void **slot = find_slot(name);
    uintptr_t page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *page = (void *)((uintptr_t)slot & ~(page_size - 1));
    /* It was made read-only when the program was loaded. */
    if (slot == NULL || mprotect(page, page_size, PROT_READ | PROT_WRITE) < 0)
        return false;
    *slot = function;
    mprotect(page, page_size, PROT_READ);
    return true;
}
