/** A pod as kubelet puts it to a runtime: one configuration of the sandbox, one of each container. Pure. */
import { answerCommand, imageName } from '../cri/image.ts';
import type { ContainerConfig, DnsConfig, SandboxConfig } from '../cri/messages.ts';
import type { Container, Pod } from './pod.ts';

export interface SandboxPlace {
  /** Counts the sandboxes of the pod, from 0. */
  readonly attempt: number;
  readonly cgroupParent: string;
  /** Folder of the containers' logs. */
  readonly logDirectory: string;
  readonly serviceCidr: string;
}

/** The labels by which a pod's sandboxes are found again. */
export function labelsOf({ namespace, name, uid }: Pick<Pod, 'namespace' | 'name' | 'uid'>): Record<string, string> {
  return {
    'io.kubernetes.pod.name': name,
    'io.kubernetes.pod.namespace': namespace,
    'io.kubernetes.pod.uid': uid,
  };
}

export function sandboxConfig(
  pod: Pod,
  { attempt, cgroupParent, logDirectory, serviceCidr }: SandboxPlace,
): SandboxConfig {
  const { name, namespace, uid } = pod;
  const dns = dnsOf(pod, serviceCidr);
  return {
    metadata: { name, namespace, uid, attempt },
    // The kernel's limit for a hostname.
    hostname: (pod.hostname ?? name).slice(0, 63).replace(/[-.]+$/, ''),
    log_directory: logDirectory,
    ...(dns === undefined ? {} : { dns_config: dns }),
    port_mappings: pod.containers
      .flatMap(({ ports }) => ports)
      .map(({ protocol, containerPort, hostPort, hostIP }) => ({
        protocol,
        container_port: containerPort,
        host_port: hostPort,
        host_ip: hostIP,
      })),
    labels: labelsOf(pod),
    linux: { cgroup_parent: cgroupParent },
  };
}

/** Undefined: the node's own. The cluster's name server has the tenth address of the services, as with kubeadm. */
function dnsOf({ dnsPolicy, dnsConfig, namespace }: Pod, serviceCidr: string): DnsConfig | undefined {
  if (dnsPolicy === 'None') return dnsConfig;
  if (dnsPolicy === 'Default') return undefined;
  const domains = [`${namespace}.svc.cluster.local`, 'svc.cluster.local', 'cluster.local'];
  return {
    servers: [serviceCidr.replace(/\.\d+\/\d+$/, '.10'), ...dnsConfig.servers],
    searches: [...domains, ...dnsConfig.searches],
    options: ['ndots:5', ...dnsConfig.options],
  };
}

/**
 * There is one image in the lab, so it stands for whatever a container asks for; with a command of its own only where the
 * container asks for just that image. The first without one answers on port 8080, the others wait for their end.
 */
export function containerConfigs(pod: Pod): ContainerConfig[] {
  const own = pod.containers.filter(hasCommand);
  const answering = pod.containers.find((container) => !own.includes(container));
  return pod.containers.map((container) => ({
    metadata: { name: container.name, attempt: 0 },
    image: { image: imageName },
    ...(container === answering ? { command: answerCommand } : {}),
    ...(hasCommand(container) ? { command: container.command, args: container.args } : {}),
    envs: [{ key: 'POD_NAME', value: pod.name }, ...container.env.map(({ name, value }) => ({ key: name, value }))],
    labels: { ...labelsOf(pod), 'io.kubernetes.container.name': container.name },
    log_path: `${container.name}.log`,
  }));
}

function hasCommand({ image, command, args }: Container): boolean {
  return image === imageName && command.length + args.length > 0;
}
