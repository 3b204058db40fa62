import type { Subnet } from '../../model/objects.ts';

/** Whether the spec of a Subnet is unchanged: most changes of a Subnet are counts in its status. */
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
