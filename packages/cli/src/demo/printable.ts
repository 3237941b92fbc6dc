/** Titles and paths come from files that anybody may have written: no escape sequence of theirs reaches the terminal. */
export function printable(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ')
}
