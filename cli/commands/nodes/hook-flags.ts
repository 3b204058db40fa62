import { text } from '../../../lib/run/flags.ts';

export const hookFlags = {
  'hook-job': text('Job of helm’s hook that runs this; nothing is done where helm did not make it', undefined),
};
