/** The codes that a listener itself uses. Importing Connect's enum would load all of Connect. */
export const grpcCode = {
  invalidArgument: 3,
  deadlineExceeded: 4,
  permissionDenied: 7,
  resourceExhausted: 8,
  unimplemented: 12,
  unavailable: 14,
  unauthenticated: 16,
} as const;
