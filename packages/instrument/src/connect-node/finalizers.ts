interface Stoppable {
  stop(reason: string): void;
}

/** Closes the channels of transports that nobody can use any more: a transport has no close(), so people drop it. */
export const finalizers: FinalizationRegistry<Stoppable> = new FinalizationRegistry((channel) =>
  channel.stop("the application dropped the transport"),
);
