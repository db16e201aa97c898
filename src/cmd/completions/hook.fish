
# `pdpp __complete` supplies the values that only this machine knows. A provider may have chosen these values, so they
# are data: fish quotes them, and nothing evaluates them.
function __pdpp_values
    set -l words (commandline -opc) (commandline -ct)
    command pdpp __complete -- $words[2..-1] 2>/dev/null </dev/null
end
complete -c pdpp -n 'count (__pdpp_values) >/dev/null' -f -a '(__pdpp_values)'
