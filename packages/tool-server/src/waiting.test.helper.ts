/** How long a test waits for what must come, and how often it looks; for `vi.waitFor`. */
export const waiting: { readonly timeout: number; readonly interval: number } = { timeout: 60_000, interval: 5 };
