const most = 3;

/** Names separated by commas, or their number. */
export function few(names: readonly string[], noun: string): string {
  return names.length > most ? `${names.length} ${noun}` : names.join(', ');
}
