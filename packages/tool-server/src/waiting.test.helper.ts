/** The time limit and the polling interval of tests, for `vi.waitFor`. */
export const waiting: { readonly timeout: number; readonly interval: number } = { timeout: 60_000, interval: 5 };
