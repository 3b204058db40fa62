/** A lab of one test file alone, on the OVN that ISTHMUS_OVN names. The file removes it with `takeDown`. */
import { type LabHandle, openLab } from '../lab/lib/lab.ts';
import { waitUntilReady } from '../lab/ready.ts';
import { bringUp } from '../lab/up.ts';

/** @param topology path of the topology */
export async function startOwnLab(name: string, topology: string): Promise<LabHandle> {
  const say = (): void => undefined;
  const ovn = process.env['ISTHMUS_OVN'] || undefined;
  await waitUntilReady(await bringUp({ name, topology, ovn, without: [], say }), say);
  return openLab(name);
}
