import tidemark from './index.js';

export const { getLoadablePath, getNetLoadablePath, load, loadNet } = tidemark;
