# complete.zsh FOLDER LINE...: what zsh, with the functions of FOLDER, completes each LINE to, one on
# a line behind a line that says "<found>".
zmodload zsh/zpty || exit 1
rc=$(mktemp)
cat >$rc <<'RC'
PROMPT=
unsetopt auto_list # a long list would be a question first
autoload -Uz compinit
compinit -u -D
bindkey '^I' complete-word
# Both are forgotten when they are called.
tell_begin () { compprefuncs=(tell_begin); print -r -- '<found>' }
tell_end () { comppostfuncs=(tell_end); print -r -- '</found>' }
compprefuncs=(tell_begin)
comppostfuncs=(tell_end)
compadd () {
    if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
        builtin compadd "$@"
        return
    fi
    typeset -a hits
    builtin compadd -A hits "$@"
    (($#hits)) && print -rl -- $hits
    builtin compadd "$@"
}
# What is typed before the editor reads may be lost.
zle-line-init () { print REA''DY }
zle -N zle-line-init
RC
zpty shell zsh -f -i
zpty -w shell "fpath=($1 \$fpath); source $rc"
zpty -r shell told '*READY*'
for line in $@[2,-1]; do
    zpty -w -n shell $'\x15'"$line"$'\t'
    zpty -r shell told '*</found>*' || exit 1
    print -r -- "<found>${${told#*<found>}%%</found>*}"
done | tr -d '\r'
zpty -d shell
rm -f $rc
