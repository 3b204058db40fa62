/**
 * What Kubernetes is told, by key. In: keys whose plans changed or whose rows reached the database. Out: writes of
 * exactly what differs from what is observed, so that a start against a cluster that agrees writes nothing.
 */
import type { Desk } from './desk.ts';
import { clearIp } from './ip-object.ts';
import { publishNamespace, publishVpc } from './others.ts';
import { PortOwners } from './port-owners.ts';
import { Subnets } from './subnets.ts';

export interface Publisher {
  /** Compares one key's object with what it should be told. */
  publish(key: string): void;
  close(): void;
}

export function openPublisher(desk: Desk): Publisher {
  const owners = new PortOwners(desk);
  const subnets = new Subnets(desk);
  return {
    publish(key) {
      const [feature, first = '', second = ''] = key.split('/', 3);
      if (feature === 'pod') owners.publishPod(`${first}/${second}`);
      else if (feature === 'node') owners.publishNode(first);
      else if (feature === 'subnet') subnets.publish(first);
      else if (feature === 'namespace') publishNamespace(desk, first);
      else if (feature === 'vpc') publishVpc(desk, first);
      else if (feature === 'ip') clearIp(desk, first);
    },
    close: () => subnets.close(),
  };
}
