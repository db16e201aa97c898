
# `pdpp __complete` supplies the values that only this machine knows; the script above does the rest. A provider may
# have chosen these values, so they are data: read one line at a time, quoted, and never evaluated.
_pdpp_values() {
    local line=${COMP_LINE:0:COMP_POINT} word begun prefix='' cut char is_quoted='' i
    local -a words=()
    COMPREPLY=()
    # Readline also splits at : and =; our words end at a space.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((i == 0)) || [[ $line == [[:space:]]* ]]; then
            words+=("$word")
        else
            words[${#words[@]} - 1]+=$word
        fi
        line=${line#"${line%%[![:space:]]*}"}
        line=${line#"$word"}
    done
    begun=${words[${#words[@]} - 1]}
    case $begun in [\'\"]*) is_quoted=1 begun=${begun:1} ;; esac
    begun=${begun//\\/}
    words[${#words[@]} - 1]=$begun
    case $begun in --*=*) begun=${begun#*=} ;; esac
    # Readline replaces only the text after the last : or =, or the text from the last @ on.
    for char in : = @; do
        cut=${begun%"${begun##*"$char"}"}
        [[ $char != @ ]] || cut=${cut%@}
        if [[ -z $is_quoted && $COMP_WORDBREAKS == *"$char"* ]] && ((${#cut} > ${#prefix})); then prefix=$cut; fi
    done
    while IFS=$'\t' read -r word _; do
        [[ -n $word && $word == "$begun"* ]] || continue
        if [[ -z $is_quoted ]]; then
            printf -v word %q "${word#"$prefix"}"
        elif [[ $word == *[!A-Za-z0-9\ ._:/@%+,=-]* ]]; then
            # Inside an open quote, no quoting works for all of these characters.
            continue
        fi
        COMPREPLY+=("$word")
    done <<<"$(command pdpp __complete -- "${words[@]:1}" 2>/dev/null </dev/null)"
    ((${#COMPREPLY[@]})) || _pdpp "$@"
}

complete -F _pdpp_values -o nosort -o bashdefault -o default pdpp 2>/dev/null ||
    complete -F _pdpp_values -o bashdefault -o default pdpp
