# Completion of bolt for bash. It needs no other package.

_bolt_completion() {
    local reply kind options line IFS=$' \t\n'
    COMPREPLY=()
    # eval, because the first word may be an alias or begin with ~.
    reply=$(eval "${COMP_WORDS[0]}"' __bash "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" "$COMP_TYPE" "$COLUMNS"' 2>/dev/null) || return 0
    {
        read -r kind options
        while IFS= read -r line; do
            COMPREPLY+=("$line")
        done
    } <<<"$reply"
    case $kind in
    names) compopt -o filenames 2>/dev/null ;;
    words) compopt +o default 2>/dev/null ;;
    esac
    case $options in *nospace*) compopt -o nospace 2>/dev/null ;; esac
    case $options in *nosort*) compopt -o nosort 2>/dev/null ;; esac
    return 0
}

complete -o default -F _bolt_completion bolt
