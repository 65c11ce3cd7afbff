/**
 * Where the project publishes its client-id metadata document, which is also its client id. `deploy/client-metadata` has the document
 * and says how to publish it elsewhere. The owner of this address decides where authorization codes for this client may be sent.
 */
export const defaultClientMetadataUrl = "https://wirescope.dev/oauth/client-metadata.json";
