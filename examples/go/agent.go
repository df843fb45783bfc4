// A whole agent in Go that uses nothing but the standard library: it goes about at random and keeps the launch contract.
//
// The first half is the client's side of a WebSocket, which a library of your choice can replace.
package main

import (
	"bufio"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const (
	text, closing, ping, pong = 1, 8, 9, 10
	mostBytes                 = 16_000_000 // of a message; a world sends none that is longer
	handshake                 = 10 * time.Second
)

// WebSocket is the client's side of RFC 6455, for text frames.
type WebSocket struct {
	tcp     net.Conn
	reader  *bufio.Reader
	writing sync.Mutex // the loop, the keep-alives and the answers to pings all write
}

func connect(address string) (*WebSocket, error) {
	parts, err := url.Parse(address)
	if err != nil || parts.Scheme != "ws" {
		return nil, fmt.Errorf("WORLD_WS_URL must be ws://HOST:PORT/PATH, not %q", address)
	}
	tcp, err := net.DialTimeout("tcp", parts.Host, handshake)
	if err != nil {
		return nil, err
	}
	key := make([]byte, 16)
	rand.Read(key)
	request := &http.Request{Method: "GET", URL: parts, Host: parts.Host, Header: http.Header{
		"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-WebSocket-Version": {"13"},
		"Sec-WebSocket-Key":      {base64.StdEncoding.EncodeToString(key)},
		"Sec-WebSocket-Protocol": {"tickmind.v1.json"},
	}}
	tcp.SetDeadline(time.Now().Add(handshake))
	socket := &WebSocket{tcp: tcp, reader: bufio.NewReader(tcp)}
	if err = request.Write(tcp); err == nil {
		var answer *http.Response
		answer, err = http.ReadResponse(socket.reader, request)
		if err == nil && answer.StatusCode != http.StatusSwitchingProtocols {
			err = fmt.Errorf("the world's WebSocket refused the connection: %s", answer.Status)
		}
	}
	if err != nil {
		tcp.Close()
		return nil, err
	}
	tcp.SetDeadline(time.Time{})
	return socket, nil
}

// Send writes a frame, masked as a client must.
func (s *WebSocket) Send(frame any) error {
	data, err := json.Marshal(frame)
	if err != nil {
		return err
	}
	return s.write(text, data)
}

func (s *WebSocket) write(opcode byte, data []byte) error {
	head := []byte{0x80 | opcode}
	switch size := len(data); {
	case size < 126:
		head = append(head, 0x80|byte(size))
	case size < 1<<16:
		head = binary.BigEndian.AppendUint16(append(head, 0x80|126), uint16(size))
	default:
		head = binary.BigEndian.AppendUint64(append(head, 0x80|127), uint64(size))
	}
	mask := make([]byte, 4)
	rand.Read(mask)
	head = append(head, mask...)
	for i, each := range data {
		head = append(head, each^mask[i%4])
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	_, err := s.tcp.Write(head)
	return err
}

// Receive waits for the next message, and answers pings meanwhile.
func (s *WebSocket) Receive(message any) error {
	var whole []byte
	for {
		head := make([]byte, 2, 10)
		if _, err := io.ReadFull(s.reader, head); err != nil {
			return err
		}
		size := uint64(head[1] & 0x7f)
		if more := map[uint64]int{126: 2, 127: 8}[size]; more > 0 {
			long := make([]byte, 8)
			if _, err := io.ReadFull(s.reader, long[8-more:]); err != nil {
				return err
			}
			size = binary.BigEndian.Uint64(long)
		}
		if size > mostBytes || uint64(len(whole))+size > mostBytes {
			return errors.New("the world's WebSocket sends an endless message")
		}
		data := make([]byte, size)
		if _, err := io.ReadFull(s.reader, data); err != nil {
			return err
		}
		switch head[0] & 0x0f {
		case ping:
			if err := s.write(pong, data); err != nil {
				return err
			}
		case closing:
			return errors.New("the world's WebSocket closed the connection")
		case 0, text:
			whole = append(whole, data...)
			if head[0]&0x80 != 0 {
				return json.Unmarshal(whole, message)
			}
		}
	}
}

// The part of the JSON form that this agent reads; what is zero, empty or false is left out there.
type frame struct {
	Error *struct {
		Message string
		Ends    bool
	}
	Control *struct {
		Opened *struct {
			Lease struct {
				LeaseID string `json:"leaseId"`
				TTLMs   int    `json:"ttlMs"`
			}
		}
		Observation *observation
		Closed      *struct {
			Reason       string
			RetryAfterMs int
		}
	}
}

type observation struct {
	TickID string `json:"tickId"`
	Me     struct{ X, Y, StatusBits int }
	Tiles  struct {
		Radius, CentreX, CentreY int
		Walkable                 []byte
	} `json:"visibleTiles"`
	Others []struct{ X, Y int } `json:"visibleEntities"`
}

type object = map[string]any

var steps = map[string][2]int{
	"DIRECTION_N": {0, -1}, "DIRECTION_E": {1, 0}, "DIRECTION_S": {0, 1}, "DIRECTION_W": {-1, 0},
}

// act chooses a step to a tile that is free.
func act(seen *observation) object {
	if seen.Me.StatusBits&1 != 0 {
		return object{"wake": object{}}
	}
	var ways []string
	for way, step := range steps {
		if seen.isFree(seen.Me.X+step[0], seen.Me.Y+step[1]) {
			ways = append(ways, way)
		}
	}
	if len(ways) == 0 {
		return object{"wait": object{}}
	}
	return object{"move": object{"direction": ways[mathrand.Intn(len(ways))]}}
}

func (seen *observation) isFree(x, y int) bool {
	for _, other := range seen.Others {
		if other.X == x && other.Y == y {
			return false
		}
	}
	tiles := seen.Tiles
	column, row, side := x-tiles.CentreX+tiles.Radius, y-tiles.CentreY+tiles.Radius, 2*tiles.Radius+1
	place := row*side + column
	return column >= 0 && row >= 0 && column < side && row < side &&
		place/8 < len(tiles.Walkable) && tiles.Walkable[place/8]>>(place%8)&1 == 1
}

// agent keeps one character, over as many connections as it takes.
type agent struct {
	url, entityID, controllerID, token, leaseID string
}

// live controls the character over one connection, until that breaks or the process is asked to end.
func (a *agent) live(end <-chan os.Signal) (pause time.Duration, err error) {
	world, err := connect(a.url)
	if err != nil {
		return 0, err
	}
	defer world.tcp.Close()
	open := object{"entityId": a.entityID, "controllerId": a.controllerID, "previousLeaseId": a.leaseID}
	if err = world.Send(object{"control": object{"open": open}, "token": a.token}); err != nil {
		return 0, err
	}
	frames, broken := make(chan frame), make(chan error, 1)
	over := make(chan struct{})
	defer close(over)
	go func() { // what thinks must not keep what listens
		for {
			var next frame
			if err := world.Receive(&next); err != nil {
				broken <- err
				return
			}
			select {
			case frames <- next:
			case <-over:
				return
			}
		}
	}()
	keepAlive := time.NewTicker(time.Hour)
	defer keepAlive.Stop()
	for {
		select {
		case <-end:
			world.Send(object{"control": object{"release": object{}}})
			giveUp := time.After(2 * time.Second)
			for { // until the world has ended the connection, so that what was sent arrives
				select {
				case <-frames:
				case <-broken:
					os.Exit(0)
				case <-giveUp:
					os.Exit(0)
				}
			}
		case err = <-broken:
			return 0, err
		case <-keepAlive.C:
			err = world.Send(object{"control": object{"keepAlive": object{}}})
		case next := <-frames:
			pause, err = a.take(world, next, keepAlive)
		}
		if err != nil || pause > 0 {
			return pause, err
		}
	}
}

// take answers one frame; with a pause the connection is over.
func (a *agent) take(world *WebSocket, next frame, keepAlive *time.Ticker) (time.Duration, error) {
	if next.Error != nil {
		fmt.Fprintln(os.Stderr, next.Error.Message)
	}
	if next.Control == nil {
		return 0, nil
	}
	switch control := next.Control; {
	case control.Opened != nil:
		lease := control.Opened.Lease
		a.leaseID = lease.LeaseID
		keepAlive.Reset(time.Duration(lease.TTLMs) * time.Millisecond / 3)
	case control.Observation != nil:
		seen := control.Observation
		intent := object{"tickId": seen.TickID, "intent": act(seen)}
		return 0, world.Send(object{"control": object{"intent": intent}})
	case control.Closed != nil:
		switch control.Closed.Reason {
		case "REASON_UNKNOWN_ENTITY":
			fail("the world has no entity " + a.entityID)
		case "REASON_INVALID_LEASE":
			fail("another process has taken the entity")
		}
		wait := time.Duration(control.Closed.RetryAfterMs) * time.Millisecond
		return min(wait, 10*time.Second) + time.Millisecond, nil
	}
	return 0, nil
}

func main() {
	a := &agent{
		url: os.Getenv("WORLD_WS_URL"), entityID: os.Getenv("ENTITY_ID"), controllerID: os.Getenv("CONTROLLER_ID"),
	}
	if a.controllerID == "" {
		a.controllerID = "agent:" + a.entityID
	}
	if number, err := strconv.Atoi(os.Getenv("AGENT_SECRETS_FD")); err == nil {
		secrets, file := map[string]string{}, os.NewFile(uintptr(number), "secrets")
		if json.NewDecoder(file).Decode(&secrets) != nil {
			fail("AGENT_SECRETS_FD holds no JSON object of texts")
		}
		file.Close()
		a.token = secrets["WORLD_TOKEN"]
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, os.Interrupt)
	mathrand.Seed(time.Now().UnixNano())
	wait := 250 * time.Millisecond
	for {
		began := time.Now()
		pause, err := a.live(end)
		if err != nil {
			fmt.Fprintln(os.Stderr, "the connection is over:", err)
		}
		if time.Since(began) > 5*time.Second {
			wait = 250 * time.Millisecond
		}
		select {
		case <-time.After(pause + wait/2 + time.Duration(mathrand.Int63n(int64(wait/2)))):
		case <-end:
			os.Exit(0)
		}
		wait = min(2*wait, 5*time.Second)
	}
}

func min(a, b time.Duration) time.Duration {
	if a < b {
		return a
	}
	return b
}

func fail(why string) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(1)
}
