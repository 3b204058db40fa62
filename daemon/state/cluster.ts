/** The cluster as this node sees it: the watched objects by kind and name, and lookups over them. */
import { hubSwitch } from '../../lib/api/names.ts';
import type { LabelSelector } from '../../lib/api/kinds/shared.ts';
import type { LifelineFacts } from '../../lib/bgp/lifelines.ts';
import { apiService, dnsService } from '../../lib/services/gate.ts';
import { serviceKey, type Service } from '../../lib/services/service.ts';
import type { BgpNodeState } from '../model/bgp-node-state.ts';
import type {
  Interconnect,
  InterconnectGateway,
  KeyRotation,
  RemoteRoute,
  TransitSwitch,
} from '../model/interconnect.ts';
import type { Node } from '../model/node.ts';
import type { Pod } from '../model/pod.ts';
import type { ProviderNetwork } from '../model/provider-network.ts';
import type { Sandbox } from '../model/sandbox.ts';
import type { Subnet } from '../model/subnet.ts';
import type { KeySlice } from '../model/wireguard.ts';

/** All objects of one kind, as watch/ keeps them. */
export interface Mirror<T> {
  get(key: string): T | undefined;
  entries(): MapIterator<[string, T]>;
  subscribe(listener: (change: MirrorChange<T>) => void): () => void;
}

export interface MirrorChange<T> {
  /** `namespace/name`, or `name` for cluster-scoped kinds. */
  readonly key: string;
  readonly before: T | undefined;
  readonly after: T | undefined;
}

export interface ClusterObjects {
  /** This node only, and so are `gateways` and `bgpStates`. */
  readonly nodes: Mirror<Node>;
  /** Pods of this node. */
  readonly pods: Mirror<Pod>;
  readonly subnets: Mirror<Subnet | undefined>;
  readonly interconnects: Mirror<Interconnect>;
  readonly gateways: Mirror<InterconnectGateway>;
  /** Undefined for one that cannot be read. */
  readonly keySlices: Mirror<KeySlice | undefined>;
  readonly transitSwitches: Mirror<TransitSwitch>;
  /** Routes of each remote cluster. */
  readonly remotes: Mirror<readonly RemoteRoute[]>;
  readonly providerNetworks: Mirror<ProviderNetwork>;
  readonly bgpStates: Mirror<BgpNodeState>;
  /** The VPC that each VpcDns names; undefined for one that never gets gates. */
  readonly vpcDnses: Mirror<string | undefined>;
  /** Only the Service of the cluster's DNS, and only that of the API server. */
  readonly dnsServices: Mirror<Service>;
  readonly apiServices: Mirror<Service>;
}

export class Cluster {
  readonly objects: ClusterObjects;
  readonly #nodeName: string;

  constructor(nodeName: string, objects: ClusterObjects) {
    this.#nodeName = nodeName;
    this.objects = objects;
  }

  /** Undefined once the Node object is gone. */
  get node(): Node | undefined {
    return this.objects.nodes.get(this.#nodeName);
  }

  get subnets(): readonly Subnet[] {
    return [...this.objects.subnets.entries()].flatMap(([, subnet]) => subnet ?? []);
  }

  get providerNetworks(): readonly ProviderNetwork[] {
    return valuesOf(this.objects.providerNetworks);
  }

  /** Undefined if this node is not a gateway between clusters. */
  get gateway(): InterconnectGateway | undefined {
    return this.objects.gateways.get(this.#nodeName);
  }

  /** Undefined if this node has no speaker. */
  get bgpNodeState(): BgpNodeState | undefined {
    return this.objects.bgpStates.get(this.#nodeName);
  }

  /** Selectors of gateway nodes; none if the cluster is not a member of an interconnect, or has left it. */
  get gatewaySelectors(): readonly LabelSelector[] {
    return valuesOf(this.objects.interconnects).flatMap(({ gateways }) => gateways ?? []);
  }

  /** When the key of this node is replaced, and the last request for that. */
  get keyRotation(): { readonly policy: KeyRotation; readonly request: string } {
    const [policy = { intervalMs: 0, maxWaitMs: 0 }] = valuesOf(this.objects.interconnects).map(
      (one) => one.keyRotation,
    );
    return { policy, request: this.gateway?.rotateKey ?? '' };
  }

  /** Transit switch → the VPC that it joins. */
  get joinedVpcs(): ReadonlyMap<string, string> {
    const { transitSwitches, interconnects } = this.objects;
    return new Map([
      ...[...transitSwitches.entries()].map(([name, { vpc }]) => [name, vpc] as const),
      ...valuesOf(interconnects).map(({ vpc }) => [hubSwitch, vpc] as const),
    ]);
  }

  /** A list for each remote cluster, the same one until its object changes. */
  get remoteRoutes(): readonly (readonly RemoteRoute[])[] {
    return valuesOf(this.objects.remotes);
  }

  /** The VPCs that may have gates, and the Services that gates lead to. */
  get gateFacts(): {
    readonly vpcs: readonly string[];
    readonly dns: Service | undefined;
    readonly api: Service | undefined;
  } {
    const { vpcDnses, dnsServices, apiServices } = this.objects;
    return {
      vpcs: [...vpcDnses.entries()].flatMap(([, vpc]) => vpc ?? []),
      dns: dnsServices.get(serviceKey(dnsService)),
      api: apiServices.get(serviceKey(apiService)),
    };
  }

  /** What the objects know of addresses that no learned route may take away. */
  get lifelines(): Pick<LifelineFacts, 'hubs' | 'transitSwitches' | 'clusters'> {
    const { interconnects, transitSwitches, remotes } = this.objects;
    return {
      hubs: valuesOf(interconnects).map(({ hub }) => hub),
      transitSwitches: [...transitSwitches.entries()].map(([name, { vpc, networks: prefixes }]) => ({
        name,
        vpc,
        prefixes,
      })),
      clusters: [...remotes.entries()].map(([name, prefixes]) => ({ name, prefixes })),
    };
  }

  subnet(name: string): Subnet | undefined {
    return this.objects.subnets.get(name);
  }

  /** Undefined if the pod is gone, or if another pod has its name. */
  podOf({ podNamespace, podName, podUid }: Pick<Sandbox, 'podNamespace' | 'podName' | 'podUid'>): Pod | undefined {
    const pod = this.objects.pods.get(`${podNamespace}/${podName}`);
    return pod?.uid === podUid ? pod : undefined;
  }
}

function valuesOf<T>(mirror: Pick<Mirror<T>, 'entries'>): readonly T[] {
  return [...mirror.entries()].map(([, value]) => value);
}
