/** Makes the node a chassis of OVN: its name, which OVN keeps knowing it by, and its way to the southbound database. */
import { randomUUID } from 'node:crypto';
import type { OvsdbClient } from 'ovsdb-client';
import { keepChassisName } from '../ovs/chassis-name.ts';
import { ensureSystemId, forgetGateway, isInitialised, southboundRemotes, systemId } from '../ovs/local.ts';
import { ChassisAccess, type ChassisAccessOptions } from './chassis-access.ts';

export interface ChassisOptions extends Omit<ChassisAccessOptions, 'present' | 'chassis'> {
  readonly ovs: OvsdbClient;
  /** The name that the Node has; the database may be a new one. */
  readonly known: string | undefined;
  /** Whether the node is a gateway between clusters. */
  readonly isGateway: boolean;
}

export interface Chassis {
  readonly access: ChassisAccess;
  name(): string;
  close(): Promise<void>;
}

/** @throws the signal's reason */
export async function openChassis({ ovs, known, isGateway, ...options }: ChassisOptions): Promise<Chassis> {
  if (!isInitialised(ovs))
    options.log.warn({}, 'the Open_vSwitch database is empty; waiting until `ovs-vsctl init` has run');
  const first = await ensureSystemId(ovs, () => known ?? randomUUID(), options.signal);
  const stopKeeping = keepChassisName(ovs, first, options.log);
  if (!isGateway) await forgetGateway(ovs);
  const name = (): string => systemId(ovs) ?? first;
  const access = await ChassisAccess.open({ ...options, present: southboundRemotes(ovs), chassis: name });
  return {
    access,
    name,
    async close() {
      stopKeeping();
      await access.close();
    },
  };
}
