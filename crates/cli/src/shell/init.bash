# swb's shell integration for bash: eval "$(swb init bash)" at the end of ~/.bashrc.
# Completion of swb's arguments; OSC 133 around the prompt and the output of commands; OSC 7 with the working directory.
if [[ $- == *i* && -z ${__swb_init-} ]]; then
    __swb_init=1
    eval "$(command swb completions bash 2>/dev/null)"
    if [[ ${TERM-dumb} != dumb && ${TERM-} != linux ]]; then
        __swb_report_directory() {
            local LC_ALL=C dir=$PWD out='' char code i
            for ((i = 0; i < ${#dir}; i++)); do
                char=${dir:i:1}
                case $char in
                    [a-zA-Z0-9/._~-]) out+=$char ;;
                    *)
                        printf -v code %d "'$char"
                        printf -v char '%%%02X' $((code & 255))
                        out+=$char
                        ;;
                esac
            done
            printf '\e]7;file://%s%s\a' "${HOSTNAME-}" "$out"
        }
        # Before the user's own PROMPT_COMMAND, which must find the exit code of the last command.
        __swb_before_prompt() {
            local code=$?
            if [[ -n ${__swb_ran-} ]]; then
                printf '\e]133;D;%s\a' "$code"
            fi
            __swb_ran=
            if [[ $PWD != "${__swb_directory-}" ]]; then
                __swb_directory=$PWD
                __swb_report_directory
            fi
            return "$code"
        }
        # After it, as it may have set PS1 anew. Marks that another integration has put there are left alone.
        __swb_after_prompt() {
            local code=$?
            if [[ ${PS1-} != *'133;A'* ]]; then
                PS1='\[\e]133;A\a\]'${PS1-}'\[\e]133;B\a\]'
            fi
            if [[ ${PS0-} != *'133;C'* ]]; then
                if shopt -q promptvars; then
                    # Notes that a command runs, and expands to nothing.
                    PS0='\e]133;C\a${PS1:$((__swb_ran=1,0)):0}'${PS0-}
                else
                    PS0='\e]133;C\a'${PS0-}
                fi
            fi
            return "$code"
        }
        if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501)); then
            PROMPT_COMMAND=(__swb_before_prompt "${PROMPT_COMMAND[@]}" __swb_after_prompt)
        else
            PROMPT_COMMAND=$'__swb_before_prompt\n'"${PROMPT_COMMAND-}"$'\n__swb_after_prompt'
        fi
    fi
fi
