_gradeval_completion() {
    local IFS=$'\n'
    local response type value

    response=$(env COMP_LINE="$COMP_LINE" COMP_POINT="$COMP_POINT" COMP_WORDBREAKS="$COMP_WORDBREAKS" \
        _GRADEVAL_COMPLETE=bash_complete "$1")

    while IFS=',' read -r type value; do
        if [[ $type == 'dir' ]]; then
            COMPREPLY=()
            compopt -o dirnames
        elif [[ $type == 'file' ]]; then
            COMPREPLY=()
            compopt -o default
        elif [[ $type == 'plain' ]]; then
            COMPREPLY+=("$value")
        fi
    done <<< "$response"

    return 0
}

_gradeval_completion_setup() {
    complete -o nosort -F _gradeval_completion gradeval
}

_gradeval_completion_setup;
