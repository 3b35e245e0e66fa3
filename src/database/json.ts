/** An object that JSON can say. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- TypeORM's insert accepts neither `unknown` values nor a recursive type
export type JsonObject = Readonly<Record<string, any>>;
