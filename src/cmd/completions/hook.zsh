
# Values that only this machine knows come from `pdpp __complete`; what is above does the rest. They are data that a
# provider may have chosen: compadd quotes them, nothing evaluates them.
_pdpp() {
    local line
    local -a values shown
    for line in "${(@f)$(command pdpp __complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null </dev/null)}"; do
        [[ -n $line ]] || continue
        values+=("${line%%$'\t'*}")
        shown+=("${line/$'\t'/  -- }")
    done
    if (( $#values )); then
        [[ $PREFIX == --*=* ]] && compset -P 1 '*='
        compadd -l -d shown -a -- values && return
    fi
    _pdpp_definitions "$@"
}
