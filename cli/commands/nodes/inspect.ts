import { text } from '../../../lib/run/flags.ts';
import { command } from '../../command/command.ts';
import { inspectNode, usualPlaces } from '../../watch/node-inspection.ts';

export const inspect = command(
  {
    name: 'inspect',
    operands: [],
    summary: 'print facts about this machine; isthmus check --on-nodes runs it on every node',
    description:
      'Prints one JSON object: kernel modules, interfaces with MTU and addresses, ports in use, CNI\nconfigurations. Uses no cluster and reads only files of this machine. For a readable report use isthmus check --on-nodes.',
    examples: ['isthmus nodes inspect | jq .'],
  },
  {
    'modules-dir': text('folder of the kernels’ modules', '/lib/modules'),
    'cni-conf-dir': text('folder of CNI configurations', '/etc/cni/net.d'),
  },
  async ({ flags, terminal }) => {
    const look = await inspectNode({ ...usualPlaces, modules: flags.modulesDir, cni: flags.cniConfDir });
    terminal.out(`${JSON.stringify(look)}\n`);
    return 0;
  },
);
