/** Older objects first, then by name: of two objects with the same claim the older one keeps it. */
export function byAge(
  left: { readonly createdAt: string; readonly name: string },
  right: { readonly createdAt: string; readonly name: string },
): number {
  return compareText(left.createdAt, right.createdAt) || compareText(left.name, right.name);
}

function compareText(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
