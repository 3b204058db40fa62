import { text } from '../../../lib/run/flags.ts';

export const hookFlags = {
  'hook-job': text('Job of helm’s hook that runs this; does nothing if helm did not create it', undefined),
};
