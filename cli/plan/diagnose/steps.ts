/** All steps in the order of dependence: first those that explain most others, last those that only show symptoms. */
import { checkEncryption } from './encryption.ts';
import {
  checkChassis,
  checkDatabases,
  checkDrain,
  checkGatewayHealth,
  checkGatewayNodes,
  checkReports,
} from './gateways.ts';
import { checkHubDatabases } from './hub-databases.ts';
import { checkAgent, checkCertificate, checkClock, checkHub, checkJoined, checkMembership } from './link.ts';
import { checkPaths, checkPeer } from './peers.ts';
import { checkOffer, checkPolicy, checkRoutes } from './prefixes.ts';
import { checkSiblings } from './siblings.ts';
import { checkConflicts, checkConverged, checkFailover, checkPorts, checkTransit } from './transit.ts';
import { checkTakeover } from './takeover.ts';
import { checkMtu, checkTunnels } from './tunnels.ts';
import type { Step } from './step.ts';

export const steps: readonly Step[] = [
  { id: 'membership', name: 'membership', needs: [], check: checkMembership },
  { id: 'clock', name: 'clocks', needs: [], check: checkClock },
  { id: 'agent', name: 'agent', needs: [], check: checkAgent },
  { id: 'certificate', name: 'certificate', needs: ['clock'], check: checkCertificate },
  { id: 'hub', name: 'hub', needs: ['agent', 'clock', 'certificate'], check: checkHub },
  { id: 'hub-databases', name: 'hub databases', needs: ['hub'], check: checkHubDatabases },
  { id: 'joined', name: 'join', needs: ['agent', 'hub', 'certificate'], check: checkJoined },
  { id: 'databases', name: 'OVN databases', needs: [], check: checkDatabases },
  { id: 'gateway-nodes', name: 'gateway nodes', needs: [], check: checkGatewayNodes },
  { id: 'gateway-health', name: 'gateway health', needs: [], check: checkGatewayHealth },
  { id: 'conflicts', name: 'conflicts', needs: [], check: checkConflicts },
  { id: 'chassis', name: 'gateway chassis', needs: ['gateway-health', 'databases'], check: checkChassis },
  { id: 'drain', name: 'drain', needs: [], check: checkDrain },
  {
    id: 'failover',
    name: 'gateways in place',
    needs: ['gateway-health', 'chassis', 'databases', 'drain'],
    check: checkFailover,
  },
  { id: 'reports', name: 'daemon reports', needs: ['agent', 'gateway-health', 'chassis'], check: checkReports },
  { id: 'siblings', name: 'own tunnels', needs: ['gateway-health'], check: checkSiblings },
  { id: 'transit', name: 'transit switches', needs: ['joined', 'agent', 'hub', 'hub-databases'], check: checkTransit },
  {
    id: 'ports',
    name: 'ports held',
    needs: ['gateway-nodes', 'gateway-health', 'chassis', 'databases', 'drain', 'transit'],
    check: checkPorts,
  },
  { id: 'encryption', name: 'encryption', needs: ['gateway-health', 'chassis'], check: checkEncryption },
  {
    id: 'tunnels',
    name: 'tunnels',
    needs: ['gateway-nodes', 'gateway-health', 'chassis', 'databases', 'failover', 'encryption'],
    check: checkTunnels,
  },
  { id: 'mtu', name: 'MTU and loss', needs: [], check: checkMtu },
  {
    id: 'peer',
    name: 'other cluster',
    needs: ['membership', 'hub', 'joined', 'agent', 'tunnels', 'ports'],
    check: checkPeer,
  },
  { id: 'paths', name: 'paths', needs: ['tunnels', 'ports', 'failover', 'drain', 'peer'], check: checkPaths },
  {
    id: 'takeover',
    name: 'next failure',
    needs: ['agent', 'gateway-nodes', 'reports', 'siblings', 'paths'],
    check: checkTakeover,
  },
  { id: 'policy', name: 'route policies', needs: [], check: checkPolicy },
  {
    id: 'offer',
    name: 'prefixes offered',
    needs: ['agent', 'hub', 'joined', 'conflicts', 'peer', 'converged'],
    check: checkOffer,
  },
  {
    id: 'routes',
    name: 'routes',
    needs: ['paths', 'ports', 'policy', 'conflicts', 'gateway-nodes'],
    check: checkRoutes,
  },
  {
    id: 'converged',
    name: 'convergence',
    needs: ['agent', 'hub', 'hub-databases', 'joined', 'databases', 'gateway-health', 'transit', 'conflicts'],
    check: checkConverged,
  },
];
