# swb's shell integration for zsh: eval "$(swb init zsh)" at the end of ~/.zshrc.
# Completion of swb's arguments; OSC 133 around the prompt and the output of commands; OSC 7 with the working directory.
if [[ -o interactive && -z ${__swb_init-} ]]; then
    typeset -g __swb_init=1 __swb_ran= __swb_directory=
    # Without compinit there is no completion.
    (( $+functions[compdef] )) && eval "$(command swb completions zsh 2>/dev/null)"
    if [[ ${TERM-dumb} != (dumb|linux) ]]; then
        __swb_report_directory() {
            emulate -L zsh
            setopt no_multibyte
            local out= char
            for char in ${(s::)PWD}; do
                if [[ $char == [a-zA-Z0-9/._~-] ]]; then
                    out+=$char
                else
                    out+=%${(l:2::0:)$(([##16]#char))}
                fi
            done
            print -rn -- $'\e]7;file://'${HOST-}$out$'\a'
        }
        __swb_precmd() {
            local code=$?
            emulate -L zsh
            if [[ -n $__swb_ran ]]; then
                print -rn -- $'\e]133;D;'$code$'\a'
            fi
            __swb_ran=
            if [[ $PWD != $__swb_directory ]]; then
                __swb_directory=$PWD
                __swb_report_directory
            fi
            # Marks that another integration has put there are left alone.
            if [[ $PS1 != *'133;A'* ]]; then
                PS1=$'%{\e]133;A\a%}'$PS1$'%{\e]133;B\a%}'
            fi
            # The user's own functions may set PS1 anew: from the next prompt on, this one comes after them.
            if [[ $precmd_functions[-1] != __swb_precmd ]]; then
                precmd_functions=(${precmd_functions:#__swb_precmd} __swb_precmd)
            fi
        }
        __swb_preexec() {
            __swb_ran=1
            print -rn -- $'\e]133;C\a'
        }
        autoload -Uz add-zsh-hook
        add-zsh-hook precmd __swb_precmd
        add-zsh-hook preexec __swb_preexec
    fi
fi
