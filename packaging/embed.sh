#!/bin/sh
# embed.sh OUT.S TABLE NAME=PATH...
# Writes an assembler file with the contents of the files and a table of them as described in
# src/jail/embedded.h, under that name.
set -eu
out=$1
table=$2
shift 2
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
    echo ".globl $table"
    echo ".type $table, @object"
    echo "$table:"
    i=0
    while [ "$i" -lt "$n" ]; do
        echo ".quad name_$i, data_$i, end_$i - data_$i"
        i=$((i + 1))
    done
    echo '.quad 0, 0, 0'
    echo ".size $table, . - $table"
    echo '.section .note.GNU-stack, "", @progbits'
} >"$out"
