#!/bin/sh
# embed.sh OUT.S NAME=PATH...
# Writes an assembler file with the contents of the files and the table of src/jail/embedded.h.
set -eu
out=$1
shift
{
    echo '/* made by packaging/embed.sh */'
    echo '.section .rodata'
    n=0
    for entry in "$@"; do
        path=$(realpath "${entry#*=}")
        echo "name_$n: .asciz \"${entry%%=*}\""
        echo ".balign 16"
        echo "data_$n: .incbin \"$path\""
        echo "end_$n: .byte 0"
        n=$((n + 1))
    done
    echo '.section .data.rel.ro, "aw"'
    echo '.balign 8'
    echo '.globl embedded_files'
    echo '.type embedded_files, @object'
    echo 'embedded_files:'
    i=0
    while [ "$i" -lt "$n" ]; do
        echo ".quad name_$i, data_$i, end_$i - data_$i"
        i=$((i + 1))
    done
    echo '.quad 0, 0, 0'
    echo '.size embedded_files, . - embedded_files'
    echo '.section .note.GNU-stack, "", @progbits'
} >"$out"
