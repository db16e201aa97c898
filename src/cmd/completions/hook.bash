
# Values that only this machine knows come from `pdpp __complete`; what is above does the rest. They are data that a
# provider may have chosen: read a line at a time, quoted, evaluated nowhere.
_pdpp_values() {
    local line=${COMP_LINE:0:COMP_POINT} word begun prefix='' cut char is_quoted='' i
    local -a words=()
    COMPREPLY=()
    # Readline splits at : and = too; a word of ours ends at a space.
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
    # It replaces only what comes after the last : or =, or begins with the last @.
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
            # Within a quote that is open there is no quoting that holds for all.
            continue
        fi
        COMPREPLY+=("$word")
    done <<<"$(command pdpp __complete -- "${words[@]:1}" 2>/dev/null </dev/null)"
    ((${#COMPREPLY[@]})) || _pdpp "$@"
}

complete -F _pdpp_values -o nosort -o bashdefault -o default pdpp 2>/dev/null ||
    complete -F _pdpp_values -o bashdefault -o default pdpp
