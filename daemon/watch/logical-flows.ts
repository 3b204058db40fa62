/**
 * The logical flows of ACLs in the southbound database, and what they say about policies. Only their matches and places are mirrored. A late
 * answer does no harm: `status/policy-counters.ts` looks for them in the bridge, and nothing but metrics and events needs them.
 */
import type { Row } from 'ovsdb-client';
import { integerOf, textOf } from '../../lib/ovn/columns.ts';
import { readAclText } from '../../lib/policies/acl-text.ts';
import type { AclFlow } from '../model/acl-flow.ts';
import { SouthboundMirror, type SouthboundAccess } from './southbound.ts';

/** Stages in which policies judge packets. OVN 23.09 has renamed them. */
const stages = ['ls_out_acl', 'ls_in_acl_after_lb', 'ls_out_acl_eval', 'ls_in_acl_after_lb_eval'];

export class LogicalFlows {
  readonly #flows = new WeakMap<Row, AclFlow | null>();
  readonly #mirror: SouthboundMirror;

  constructor(access: SouthboundAccess) {
    this.#mirror = new SouthboundMirror(access, {
      what: 'the logical flows of policies',
      monitor: { Logical_Flow: ['match', 'pipeline', 'table_id'] },
      where: { Logical_Flow: stages.map((stage) => ['external_ids', 'includes', { 'stage-name': stage }] as const) },
    });
  }

  /** By cookie, with which the flows in the bridge begin; undefined until the database has answered. */
  get acls(): ReadonlyMap<number, AclFlow> | undefined {
    const { client } = this.#mirror;
    if (client === undefined) return undefined;
    const acls = new Map<number, AclFlow>();
    const shared = new Set<number>();
    for (const row of client.cache.table('Logical_Flow').rows.values()) {
      const acl = this.#aclOf(row);
      if (acl === null) continue;
      const cookie = Number.parseInt(row._uuid.slice(0, 8), 16);
      if (acls.has(cookie)) shared.add(cookie);
      acls.set(cookie, acl);
    }
    // The packets of two of them whose uuids begin alike cannot be distinguished.
    for (const cookie of shared) acls.delete(cookie);
    return acls;
  }

  close(): Promise<void> {
    return this.#mirror.close();
  }

  #aclOf(row: Row): AclFlow | null {
    const known = this.#flows.get(row);
    if (known !== undefined) return known;
    const origin = readAclText(textOf(row, 'match'));
    const pipeline = textOf(row, 'pipeline') === 'egress' ? 'egress' : 'ingress';
    const acl = origin === undefined ? null : ({ ...origin, pipeline, stage: integerOf(row, 'table_id') } as const);
    this.#flows.set(row, acl);
    return acl;
  }
}
