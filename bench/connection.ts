import { connect, type Socket } from 'node:net'
import { parseAnswer, getField, type Answer } from './answer.ts'
import { getNext, type Client, type Scenario, type Step } from './scenarios.ts'

export interface Tally {
  answers: number
  latencies: number[]
  sizes: number[]
}

/** One keep-alive connection that sends the next request as soon as it has a response. */
export class Connection {
  readonly client: Client
  #socket: Socket
  #rest: Buffer | undefined
  #onAnswer: (answer: Answer) => void = () => {}
  #onError: (error: Error) => void = () => {}
  #step: Step | undefined

  constructor (port: number, client: Client) {
    this.client = client
    this.#socket = connect({
      port,
      host: '127.0.0.1',
      noDelay: true,
      onread: {
        buffer: Buffer.allocUnsafe(65536),
        callback: (size, buffer) => {
          this.#read(Buffer.from(buffer.buffer, buffer.byteOffset, size))
          return true
        }
      }
    })
    this.#socket.on('error', (error) => this.#onError(error))
    this.#socket.on('close', () => this.#onError(new Error('the server closed a connection')))
  }

  #read (part: Buffer) {
    const bytes = this.#rest === undefined ? part : Buffer.concat([this.#rest, part])
    const whole = parseAnswer(bytes)
    if (whole === undefined) {
      this.#rest = this.#rest === undefined ? Buffer.from(bytes) : bytes
      return
    }
    this.#rest = undefined
    const step = this.#step!
    if (!step.status.includes(whole.status)) return this.#onError(new Error(`expected ${step.status}, got ${bytes}`))
    if (step.learn === true) this.#learn(whole.head, bytes)
    this.#onAnswer(whole)
  }

  #learn (head: string, bytes: Buffer) {
    this.client.tag = getField(head, 'etag')
    this.client.location = getField(head, 'location').replace(/^http:\/\/[^/]+/, '')
    if (this.client.location === '') this.client.id = /"id": ?"?([\w-]+)/.exec(bytes.toString('latin1'))?.[1] ?? ''
    this.client.next = getNext(getField(head, 'link'))
  }

  #send (step: Step) {
    this.#step = step
    this.#socket.write(step.request(this.client), 'latin1')
  }

  prepare ({ prepare }: Scenario) {
    return new Promise<void>((resolve, reject) => {
      this.#onError = reject
      if (prepare === undefined) return resolve()
      this.#onAnswer = () => (prepare.isPrepared(this.client) ? resolve() : this.#send(prepare))
      this.#send(prepare)
    })
  }

  run ({ steps }: Scenario, tally: Tally, deadline: number) {
    return new Promise<void>((resolve, reject) => {
      this.#onError = reject
      let start = performance.now()
      let next = 0
      let size = 0
      this.#onAnswer = (answer) => {
        tally.answers++
        size += answer.size
        if (next < steps.length) return this.#send(steps[next++]!)
        const now = performance.now()
        tally.latencies.push(now - start)
        if (tally.sizes.length < 64) tally.sizes.push(size)
        this.client.turn++
        if (now >= deadline) return resolve()
        start = now
        next = 1
        size = 0
        this.#send(steps[0]!)
      }
      next = 1
      this.#send(steps[0]!)
    })
  }

  close () {
    this.#onError = () => {}
    this.#socket.destroy()
  }
}
