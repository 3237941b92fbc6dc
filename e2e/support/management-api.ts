import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join, normalize } from 'node:path'

/** A function as the Supabase CLI uploaded it. */
export interface UploadedFunction {
  readonly slug: string
  readonly verifyJwt: boolean
  /** Paths inside the upload. */
  readonly entrypoint: string
  readonly importMap: string | undefined
  readonly files: ReadonlyMap<string, Uint8Array>
}

interface Metadata {
  readonly name?: string
  readonly entrypoint_path: string
  readonly import_map_path?: string
  readonly verify_jwt?: boolean
}

const FUNCTIONS = /^\/v1\/projects\/([a-z]{20})\/functions$/
const DEPLOY = /^\/v1\/projects\/([a-z]{20})\/functions\/deploy$/

/**
 * Stands in for Supabase's management API, as far as `supabase functions deploy --use-api` calls it: functions are listed,
 * uploaded one by one, and, when there are several, taken into service by one list at the end.
 */
export class ManagementApi {
  readonly projectRef = 'abcdefghijklmnopqrst'
  /** A token of the form that the CLI accepts. */
  readonly accessToken = `sbp_${'0'.repeat(40)}`
  readonly #server: Server
  readonly #uploads = new Map<string, UploadedFunction>()
  readonly #live = new Map<string, UploadedFunction>()
  #refusal: string | undefined

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => json(response, 500, { message: String(error) }))
    })
  }

  static async start(): Promise<ManagementApi> {
    const api = new ManagementApi()
    await new Promise<void>((resolve) => api.#server.listen(0, '127.0.0.1', resolve))
    return api
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** The functions in service, by name. */
  get functions(): ReadonlyMap<string, UploadedFunction> {
    return this.#live
  }

  /** From now on every deployment is refused with this message; undefined: none. */
  refuseDeployments(message: string | undefined): void {
    this.#refusal = message
  }

  /** Writes the CLI's profile that leads here. */
  writeProfile(file: string): void {
    const url = JSON.stringify(this.url)
    writeFileSync(
      file,
      `name: stand-in\napi_url: ${url}\ndashboard_url: ${url}\ndocs_url: ${url}\nproject_host: localhost\n`,
    )
  }

  /** Writes every file of the functions in service into an empty folder. */
  writeFunctions(folder: string): void {
    for (const { files } of this.#live.values()) {
      for (const [path, bytes] of files) {
        const target = join(folder, path)
        mkdirSync(dirname(target), { recursive: true })
        writeFileSync(target, bytes)
      }
    }
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://stand-in')
    const body = await readBody(request)
    if (request.headers.authorization !== `Bearer ${this.accessToken}`)
      return json(response, 401, { message: 'Unauthorized' })
    if (DEPLOY.test(url.pathname) && request.method === 'POST') {
      if (this.#refusal !== undefined) return json(response, 400, { message: this.#refusal })
      const upload = await readUpload(url.searchParams.get('slug') ?? '', body, request.headers['content-type'] ?? '')
      this.#uploads.set(upload.slug, upload)
      if (url.searchParams.get('bundleOnly') !== 'true') this.#live.set(upload.slug, upload)
      return json(response, 201, describe(upload))
    }
    if (FUNCTIONS.test(url.pathname) && request.method === 'GET') {
      return json(response, 200, [...this.#live.values()].map(describe))
    }
    if (FUNCTIONS.test(url.pathname) && request.method === 'PUT') {
      for (const { slug } of JSON.parse(body.toString()) as { slug: string }[])
        this.#live.set(slug, this.#uploads.get(slug)!)
      return json(response, 200, { functions: [...this.#live.values()].map(describe) })
    }
    return json(response, 404, { message: `the stand-in does not know ${request.method} ${url.pathname}` })
  }
}

async function readUpload(slug: string, body: Buffer, contentType: string): Promise<UploadedFunction> {
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': contentType } }).formData()
  const part = form.get('metadata')
  const metadata = JSON.parse(typeof part === 'string' ? part : await part!.text()) as Metadata
  const files = new Map<string, Uint8Array>()
  for (const file of form.getAll('file') as File[]) {
    const path = normalize(file.name)
    if (path.startsWith('..') || path.startsWith('/')) throw new Error(`the path ${path} leads out of the upload`)
    files.set(path, new Uint8Array(await file.arrayBuffer()))
  }
  return {
    slug,
    verifyJwt: metadata.verify_jwt ?? true,
    entrypoint: normalize(metadata.entrypoint_path),
    importMap: metadata.import_map_path === undefined ? undefined : normalize(metadata.import_map_path),
    files,
  }
}

function describe({ slug, verifyJwt, entrypoint, importMap }: UploadedFunction) {
  const now = Date.now()
  return {
    id: slug,
    slug,
    name: slug,
    status: 'ACTIVE',
    version: 1,
    created_at: now,
    updated_at: now,
    verify_jwt: verifyJwt,
    import_map: importMap !== undefined,
    entrypoint_path: entrypoint,
    import_map_path: importMap,
    ezbr_sha256: '00',
  }
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

function json(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(value))
}
