// Finds the SDKs where the suite installed them; scripts do not lie beside their packages.

import { createRequire } from 'node:module';
import { join } from 'node:path';

export const sdk = createRequire(join(process.env.NUNCIO_TEST_PEERS, 'js', 'package.json'));
