
# `pdpp __complete` supplies the values that only this machine knows; the script above does the rest. A provider may
# have chosen these values, so they are data: compadd quotes them, and nothing evaluates them.
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
