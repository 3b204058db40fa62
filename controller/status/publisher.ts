/**
 * What Kubernetes is told, by key. In: keys whose plans changed or whose rows reached the database. Out: writes of
 * exactly what differs from what is observed, so that a start against a cluster that agrees writes nothing.
 */
import { AddressObjects } from './address-objects.ts';
import { statusKeyOf } from '../plan/plan.ts';
import type { Desk } from './desk.ts';
import { publishSecurityGroup } from './security-groups.ts';
import { StatusWriter } from './status-writer.ts';
import type { StatusWriterOptions } from './status-writer.ts';
import { UnderlayObjects } from './underlay.ts';

export interface Publisher {
  /** Compares one key's object with what it should be told. */
  publish(key: string): void;
  close(): void;
}

export function openPublisher(options: StatusWriterOptions): Publisher {
  const { refusals, rows, pending, ...rest } = options;
  const desk: Desk = {
    ...rest,
    told: pending,
    database: rows,
    refused: (key) => refusals(statusKeyOf(key)).get(key),
  };
  const writer = new StatusWriter(options);
  const addressObjects = new AddressObjects(desk);
  const underlay = new UnderlayObjects(desk);
  const byFeature: Readonly<Record<string, (id: string) => void>> = {
    vlan: (id) => underlay.publishVlan(id),
    'provider-network': (id) => underlay.publishProviderNetwork(id),
    'ip-pool': (id) => addressObjects.publishIpPool(id),
    'security-group': (id) => publishSecurityGroup(desk, id),
    vip: (id) => addressObjects.publishVip(id),
  };
  return {
    publish(key) {
      const slash = key.indexOf('/');
      const publish = byFeature[key.slice(0, slash)];
      if (publish === undefined) writer.publish(key);
      else publish(key.slice(slash + 1));
    },
    close() {
      writer.close();
      addressObjects.close();
      underlay.close();
    },
  };
}
