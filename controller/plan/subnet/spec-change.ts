import type { Subnet } from '../../model/objects.ts';

/** Whether a Subnet asks for the same as before: most changes of one are counts of its status. */
export function isSameSpec({
  before,
  after,
}: {
  readonly before: Subnet | undefined;
  readonly after: Subnet | undefined;
}): boolean {
  const fingerprint = (subnet: Subnet | undefined): string =>
    subnet === undefined ? '' : JSON.stringify([subnet.uid, subnet.isDeleting, subnet.spec]);
  return fingerprint(before) === fingerprint(after);
}
