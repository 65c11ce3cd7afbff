/** The browser's `fetch`, whose message for a lost connection ("Failed to fetch") neither says what failed nor what to do. */
export const gatewayFetch: typeof fetch = async (input, init) => {
  try {
    return await fetch(input, init);
  } catch (error) {
    // An aborted request rejects with a DOMException.
    if (!(error instanceof TypeError)) throw error;
    throw new Error(
      "The gateway did not respond, so it is not known whether the request took effect. Wait until the page is live, look at the state, then try again.",
      { cause: error },
    );
  }
};
