
# `pdpp __complete` supplies the values that only this machine knows; the script above does the rest. A provider may
# have chosen these values, so they are data: elvish quotes them, and nothing evaluates them.
var pdpp-definitions~ = $edit:completion:arg-completer[pdpp]
set edit:completion:arg-completer[pdpp] = {|@words|
    var lines = []
    var option = ''
    if (and (str:has-prefix $words[-1] '--') (str:contains $words[-1] '=')) {
        set option = (str:split &max=2 '=' $words[-1] | take 1)'='
    }
    try {
        set lines = [((external pdpp) __complete -- (all $words[1..]) 2>/dev/null </dev/null)]
    } catch e {
        nop $e
    }
    if (> (count $lines) 0) {
        for line $lines {
            var value = (str:split &max=2 "\t" $line | take 1)
            edit:complex-candidate $option$value &display=(str:replace "\t" '  ' $line)
        }
    } else {
        pdpp-definitions $@words
    }
}
