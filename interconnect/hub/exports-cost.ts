/** What one changed endpoint costs a hub and its members, in one process without connections. For a test and a benchmark. */
import assert from 'node:assert/strict';
import { cpuMsOf } from '../../lib/testing-growth.ts';
import { exported } from '../model/testing-exports.ts';
import { ExportsBed } from './exports-bed.ts';

export interface EndpointCost {
  /** Milliseconds of the hub and of the members, the least of some rounds. */
  readonly cpuMs: number;
  /** Bytes to each member that imports the Service. */
  readonly importer: number;
  /** Bytes to all others. */
  readonly others: number;
}

/** Each export is of use to five members. */
export async function costOfEndpoint(count: number): Promise<EndpointCost> {
  const bed = new ExportsBed();
  try {
    const perMember = 100;
    const namespace = (at: number) => `n${Math.floor(at / 6)}`;
    const members = Array.from({ length: count }, (_, at) => bed.member(`m${at}`, [`10.${at >> 8}.${at & 255}.0/24`]));
    const exportsOf = (at: number) =>
      Array.from({ length: perMember }, (_, index) =>
        exported(
          `${namespace(at)}/s${index}-${at}`,
          Array.from({ length: at === 0 ? 10 : 2 }, (_, host) => `10.${at >> 8}.${at & 255}.${host + 1}`),
        ),
      );
    for (const [at, member] of members.entries()) {
      // Only bytes count below.
      member.isThin = at > 5;
      bed.connect(member);
      bed.setExports(member, exportsOf(at), [namespace(at)]);
    }
    for (let turn = 0; turn < 3; turn += 1) bed.settle();
    assert.equal(bed.hub.size, count * perMember);
    const [first] = members;
    assert.ok(first);
    let services = exportsOf(0);
    const times: number[] = [];
    for (const member of members) Object.assign(member, { bytes: 0, isThin: false });
    const rounds = 20;
    for (let round = 0; round < rounds; round += 1) {
      const changed = services.with(
        0,
        exported(`${namespace(0)}/s0-0`, [
          `10.0.0.${round + 20}`,
          ...Array.from({ length: 9 }, (_, host) => `10.0.0.${host + 1}`),
        ]),
      );
      services = changed;
      times.push(
        await cpuMsOf(() => {
          bed.setExports(first, changed, [namespace(0)]);
          bed.settle();
        }),
      );
    }
    const importers = members.slice(1, 6).map(({ bytes }) => bytes / rounds);
    const others = members.slice(6).reduce((sum, { bytes }) => sum + bytes, 0);
    return { cpuMs: Math.min(...times), importer: Math.max(...importers), others };
  } finally {
    bed.close();
  }
}
