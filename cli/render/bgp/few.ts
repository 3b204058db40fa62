const most = 3;

/** Names with commas, or how many there are. */
export function few(names: readonly string[], noun: string): string {
  return names.length > most ? `${names.length} ${noun}` : names.join(', ');
}
