/**
 * What Kubernetes is told, by key. In: keys whose plans changed or whose rows reached the database. Out: writes of
 * exactly what differs from what is observed, so that a start against a cluster that agrees writes nothing.
 */
import { AddressObjects } from './address-objects.ts';
import { statusKeyOf } from '../plan/plan.ts';
import type { Desk } from './desk.ts';
import { Gateways } from './gateways.ts';
import { publishSecurityGroup } from './security-groups.ts';
import { StatusWriter } from './status-writer.ts';
import type { StatusWriterOptions } from './status-writer.ts';
import { Subnets } from './subnets.ts';
import { UnderlayObjects } from './underlay.ts';
import { publishVpc } from './vpcs.ts';

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
  const subnets = new Subnets(desk);
  const addressObjects = new AddressObjects(desk);
  const gateways = new Gateways(desk);
  const underlay = new UnderlayObjects(desk);
  const byFeature: Readonly<Record<string, (id: string) => void>> = {
    subnet: (id) => subnets.publish(id),
    acl: (id) => subnets.publish(id),
    dhcp: (id) => subnets.publish(id),
    'subnet-vips': (id) => subnets.publish(id),
    'switch-load-balancer': (id) => subnets.publish(id),
    'route-table': (id) => subnets.publish(id),
    mcast: (id) => {
      writer.publish(`mcast/${id}`);
      subnets.publish(id);
    },
    u2o: (id) => {
      writer.publish(`u2o/${id}`);
      subnets.publish(id);
    },
    vlan: (id) => underlay.publishVlan(id),
    'provider-network': (id) => underlay.publishProviderNetwork(id),
    'central-gateway': (id) => {
      gateways.publishCentral(id);
      subnets.publish(id);
    },
    vpc: (id) => publishVpc(desk, id),
    'static-route': (id) => publishVpc(desk, id),
    'policy-route': (id) => publishVpc(desk, id),
    'load-balancer': (id) => publishVpc(desk, id),
    peering: (id) => publishVpc(desk, id.slice(0, id.indexOf('/'))),
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
      subnets.close();
      addressObjects.close();
      underlay.close();
    },
  };
}
